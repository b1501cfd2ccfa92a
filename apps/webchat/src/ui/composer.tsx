import { useEffect, useRef } from 'preact/hooks';
import { useWidget } from './context';

const maxCharacters = 10_000;

/**
 * Enter sends, Shift+Enter begins a line.
 * @param takesFocus after the visitor has opened the chat
 */
export function Composer({ takesFocus }: { takesFocus: boolean }) {
  const { texts, send } = useWidget();
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (takesFocus) field.current!.focus();
  }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    const text = field.current!.value.trim();
    if (!text) return;
    field.current!.value = '';
    send(text);
  };
  const sendOnEnter = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) submit(event);
  };
  return (
    <form class="composer" onSubmit={submit}>
      <textarea
        ref={field}
        rows={1}
        maxLength={maxCharacters}
        placeholder={texts.write}
        aria-label={texts.write}
        onKeyDown={sendOnEnter}
      />
      <button type="submit" class="primary">
        {texts.send}
      </button>
    </form>
  );
}
