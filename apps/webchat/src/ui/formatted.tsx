import { useMemo, useState } from 'preact/hooks';
import { htmlOf } from '../markdown';
import { useWidget } from './context';

/** Characters of an unformatted text that are shown at first. */
const shownCharacters = 5_000;

/** Text with Markdown. HTML in it is shown as text. */
export function Formatted({ text }: { text: string }) {
  const { texts } = useWidget();
  const html = useMemo(() => htmlOf(text), [text]);
  if (html === undefined) return <Long text={text} />;
  const prepare = (element: HTMLElement | null) => {
    if (element) openOutside(element, texts.openLink);
  };
  return <div class="formatted" ref={prepare} dangerouslySetInnerHTML={{ __html: html }} />;
}

function Long({ text }: { text: string }) {
  const { texts } = useWidget();
  const [isWhole, setWhole] = useState(text.length <= shownCharacters);
  return (
    <div class="plain">
      {isWhole ? text : `${text.slice(0, shownCharacters)} …`}
      {!isWhole && (
        <button type="button" class="link" onClick={() => setWhole(true)}>
          {texts.showRest}
        </button>
      )}
    </div>
  );
}

/** Links keep the chat open, and tell their target nothing about the page. */
function openOutside(element: HTMLElement, title: string): void {
  for (const link of element.querySelectorAll('a')) {
    link.target = '_blank';
    link.rel = 'noopener noreferrer nofollow';
    link.title = title;
  }
}
