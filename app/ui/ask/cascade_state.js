// What the picture shows besides the record: the shares, the chosen candidate, the labels, the answer to copy.
export default function (component) {
  const shared = (window.__as2cascade ??= { calls: [], states: [] });
  const use = ({ state }) => {
    shared.state = state;
    shared.view?.setState(state);
  };
  return newest(shared.states, { at: component.parentElement, state: component.data }, use, () => {});
}
