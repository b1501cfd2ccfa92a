/** Style of the widget. Pages change it by the variables of the first rule. */
const css = `
:host {
  --parley-primary: #1864ab;
  --parley-on-primary: #ffffff;
  --parley-background: #ffffff;
  --parley-surface: #f1f3f5;
  --parley-text: #212529;
  --parley-muted: #5c636a;
  --parley-border: #ced4da;
  --parley-problem: #b02a1a;
  --parley-font: system-ui, sans-serif;
  --parley-radius: 12px;
  --parley-width: 384px;
  --parley-height: 600px;
  display: block;
  color-scheme: light;
  font: 15px/1.45 var(--parley-font);
  color: var(--parley-text);
}
:host([data-scheme='dark']) {
  --parley-background: #1a1d21;
  --parley-surface: #2b3035;
  --parley-text: #f1f3f5;
  --parley-muted: #adb5bd;
  --parley-border: #495057;
  --parley-problem: #ff9d8f;
  color-scheme: dark;
}
:host([hidden]) { display: none; }
* { box-sizing: border-box; }
button, textarea, select { font: inherit; color: inherit; }
button { cursor: pointer; }
:focus-visible { outline: 3px solid var(--parley-primary); outline-offset: 2px; }
.hidden { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.panel {
  position: relative; display: flex; flex-direction: column; inline-size: 100%; block-size: 100%; overflow: hidden;
  background: var(--parley-background);
}
.panel.inline { min-block-size: 320px; border: 1px solid var(--parley-border); border-radius: var(--parley-radius); }
.panel.bubble {
  position: fixed; inset-block-end: 88px; inset-inline-end: 20px; z-index: 2147483000;
  inline-size: min(var(--parley-width), calc(100vw - 40px)); block-size: min(var(--parley-height), calc(100dvh - 108px));
  border: 1px solid var(--parley-border); border-radius: var(--parley-radius); box-shadow: 0 8px 32px rgb(0 0 0 / 25%);
}
.launcher {
  position: fixed; inset-block-end: 20px; inset-inline-end: 20px; z-index: 2147483000; inline-size: 56px; block-size: 56px;
  padding: 14px; border: 0; border-radius: 50%; background: var(--parley-primary); color: var(--parley-on-primary);
  box-shadow: 0 4px 16px rgb(0 0 0 / 25%);
}
header {
  display: flex; align-items: center; gap: 10px; padding: 12px 16px; background: var(--parley-primary);
  color: var(--parley-on-primary);
}
.avatar { inline-size: 36px; block-size: 36px; border-radius: 50%; object-fit: cover; }
.titles { flex: 1; min-inline-size: 0; }
h2 { margin: 0; font-size: 1.05em; overflow-wrap: anywhere; }
.titles p { margin: 0; font-size: 0.87em; overflow-wrap: anywhere; }
button.header { border: 1px solid currentcolor; border-radius: 8px; padding: 4px 10px; background: none; color: inherit; font-size: 0.87em; }
header :focus-visible { outline-color: currentcolor; }
.banner { margin: 0; padding: 8px 16px; background: var(--parley-surface); color: var(--parley-problem); overflow-wrap: anywhere; }
.transcript { flex: 1; overflow-y: auto; padding: 16px; display: flex; flex-direction: column; gap: 8px; overflow-anchor: none; }
.page .transcript, .page .composer { padding-inline: max(16px, calc(50% - 400px)); }
.note { margin: 0; color: var(--parley-muted); }
.message {
  align-self: flex-start; max-inline-size: 85%; padding: 8px 12px; border-radius: var(--parley-radius);
  background: var(--parley-surface); overflow-wrap: anywhere; flex-shrink: 0;
}
.own { align-self: flex-end; background: var(--parley-primary); color: var(--parley-on-primary); }
.pending { background: var(--parley-surface); color: var(--parley-text); border: 1px dashed var(--parley-primary); }
.problem { margin: 4px 0 0; }
.plain { white-space: pre-wrap; }
.formatted > :first-child { margin-block-start: 0; }
.formatted > :last-child { margin-block-end: 0; }
.formatted pre, .formatted table { display: block; overflow-x: auto; max-inline-size: 100%; }
.formatted th, .formatted td { border: 1px solid var(--parley-border); padding: 2px 8px; }
.formatted img, .media, .card img { display: block; max-inline-size: 100%; max-block-size: 320px; border-radius: 8px; }
a { color: inherit; }
.link { padding: 0; border: 0; background: none; text-decoration: underline; align-self: flex-start; }
.bloc, .card, .options { display: flex; flex-direction: column; gap: 6px; }
.card { inline-size: 240px; max-inline-size: 100%; }
.carousel { display: flex; gap: 12px; overflow-x: auto; margin: 0; padding: 0 0 6px; list-style: none; }
.options { margin-block-start: 8px; }
.option {
  inline-size: 100%; padding: 6px 12px; border: 1px solid var(--parley-border); border-radius: 8px; text-align: start;
  background: var(--parley-background); color: var(--parley-text); overflow-wrap: anywhere;
}
.option:hover { border-color: var(--parley-primary); }
select { max-inline-size: 100%; padding: 6px; border-radius: 8px; background: var(--parley-background); color: var(--parley-text); }
.conversations { display: flex; flex-direction: column; gap: 8px; margin: 8px 0 0; padding: 0; list-style: none; }
.primary { padding: 8px 14px; border: 0; border-radius: 8px; background: var(--parley-primary); color: var(--parley-on-primary); }
.composer { display: flex; gap: 8px; padding: 12px 16px; border-block-start: 1px solid var(--parley-border); }
.attach { padding: 6px; border: 0; border-radius: 8px; background: none; color: var(--parley-muted); }
.attach svg, .launcher svg { display: block; fill: none; stroke: currentcolor; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.attach svg { inline-size: 22px; block-size: 22px; }
.drop {
  position: absolute; inset: 8px; z-index: 1; display: grid; place-items: center; margin: 0; text-align: center;
  border: 2px dashed var(--parley-primary); border-radius: var(--parley-radius); background: var(--parley-background); pointer-events: none;
}
progress { display: block; inline-size: 100%; accent-color: currentcolor; }
textarea {
  flex: 1; min-inline-size: 0; padding: 8px 10px; border: 1px solid var(--parley-border); border-radius: 8px; resize: none;
  background: var(--parley-background); field-sizing: content; max-block-size: 140px;
}
.typing { animation: parley-typing 1.4s infinite; }
@keyframes parley-typing { 50% { opacity: 0.4; } }
@media (prefers-reduced-motion: reduce) { .typing { animation: none; } }
@media (max-width: 480px) {
  .panel.bubble { inset: 0; inline-size: 100vw; block-size: calc(100dvh - 84px); border-radius: 0; border: 0; }
}
`;

let shared: CSSStyleSheet | undefined;

/** One sheet for all elements of a page. It is no inline style, which a policy of the page may forbid. */
export function styleSheet(): CSSStyleSheet {
  if (!shared) {
    shared = new CSSStyleSheet();
    shared.replaceSync(css);
  }
  return shared;
}
