import { useRef } from 'preact/hooks';
import { useWidget } from './context';

const maxCharacters = 10_000;

/** Enter sends, Shift+Enter begins a line. */
export function Composer() {
  const { texts, send } = useWidget();
  const field = useRef<HTMLTextAreaElement>(null);
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
