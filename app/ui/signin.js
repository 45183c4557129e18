function keep({ cookies }) {
  for (const [cookie, value, age] of cookies) {
    const kept = `${cookie}=${encodeURIComponent(value)}`;
    const field = document.activeElement;
    const typed = field?.matches("input") && field.value.trim().replace(/\s+/g, " ") === value;
    const old = document.cookie.split("; ").find((c) => c.startsWith(`${cookie}=`));
    const isNew = age.startsWith("max-age=0") ? old : old !== kept;
    if (typed && isNew) field.blur();  // signed in just now: the keys wake
    const secure = location.protocol === "https:" ? "; Secure" : "";
    document.cookie = `${kept}; path=/; ${age}SameSite=Strict${secure}`;
  }
}

export default function (component) {
  const call = { at: component.parentElement, cookies: component.data.cookies };
  return newest((window.__as2kept = window.__as2kept || []), call, keep, () => {});
}
