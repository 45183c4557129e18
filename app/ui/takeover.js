// For components whose updates may overtake each other. Streamlit loads a component's script anew for every update, in no
// order: of two that come close together the older one may be called last. It is cleaned up at once then, and the newer
// one has to hold again.
// Use `call` ({ at: the component's element, ... }) until its cleanup, which is returned; then the newest that is left
// on the page, or none().
function newest(calls, call, use, none) {
  calls.push(call);
  calls.splice(0, calls.length - 9);
  use(call);
  return () => {
    calls.splice(0, calls.length, ...calls.filter((c) => c !== call && c.at.isConnected));
    if (calls.length) use(calls.at(-1)); else none();
  };
}
