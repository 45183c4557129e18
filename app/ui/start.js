(() => {
  const pages = "__PAGES__", places = "__PLACES__";
  const PHONE_WIDTH = 640, COLLAPSED = "stSidebarCollapsed-";  // px; the keys of Streamlit's memory of its side bar
  const nameOf = (path) => pages.find((name) => path.endsWith(`/${name}`)) || pages[0];

  const base = location.pathname.split("/").filter(Boolean);
  if (pages.includes(base.at(-1))) base.pop();
  window.__streamlit = { ...window.__streamlit, BACKEND_BASE_URL: [location.origin, ...base].join("/") };

  // Another page is a step of the history, and so is another place on the page (places: page -> parameters that name
  // one), if somebody did something since the last step. All else is noted in the step that one is at.
  // leaving: a link to another page was followed, whose name is not in the address yet
  // returned: Back or Forward led here, and nothing was done since
  let acted = false, leaving = false, returned = false;
  for (const kind of ["pointerdown", "keydown"]) {
    addEventListener(kind, () => { acted = true; leaving = returned = false; }, true);
  }
  addEventListener("click", (event) => {
    const link = event.composedPath().find((element) => element.tagName === "A" && element.href);
    leaving = Boolean(link) && nameOf(new URL(link.href).pathname) !== nameOf(location.pathname);
  }, true);
  addEventListener("popstate", () => { acted = false; returned = true; }, true);

  // On a phone the side bar covers the page: it is closed when a link in it was tapped, and when a page is loaded, where
  // Streamlit would open it as it was left.
  const isPhone = () => innerWidth < PHONE_WIDTH;
  addEventListener("click", (event) => {
    if (!isPhone() || !event.target.closest("[data-testid=stSidebar] a")) return;
    setTimeout(() => document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click(), 0);
  });

  // A key that is pressed when Label shows an item, but does not listen yet, waits for its listener (keys.js).
  const early = (window.__as2early = []);
  addEventListener("keydown", (event) => {
    const item = document.querySelector("[data-testid=as2-item]"), keys = window.__as2keys;
    if (item && (!keys || keys.data?.page)) early.push({ event, target: event.composedPath()[0], item: item.textContent });
  }, true);

  const push = history.pushState.bind(history);
  history.pushState = (state, title, url) => {
    const from = new URL(location.href), to = new URL(url, from);
    const redirects = from.pathname.endsWith(`/${pages[0]}`);  // the first page's name, typed: its place is "/"
    const moves = places[nameOf(to.pathname)].some((p) => from.searchParams.get(p) !== to.searchParams.get(p));
    const steps = from.pathname === to.pathname ? acted && moves : !redirects;
    if (from.pathname !== to.pathname && returned) return;  // the page left was still running: a step would end Forward
    if (from.pathname !== to.pathname) leaving = false;
    else if (leaving) return;  // the next page's parameters, come before its name: they come again with it
    if (!steps) return history.replaceState(state, title, url);
    acted = false;
    return push(state, title, url);
  };

  if (isPhone()) {  // last: a browser may refuse its memory
    for (const key of Object.keys(localStorage)) if (key.startsWith(COLLAPSED)) localStorage.removeItem(key);
  }
})();
