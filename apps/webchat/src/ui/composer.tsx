import { useLayoutEffect, useRef } from 'preact/hooks';
import { useWidget } from './context';

const maxCharacters = 10_000;

/**
 * Enter sends, Shift+Enter begins a line.
 * @param takesFocus after the visitor has opened the chat
 */
export function Composer({ takesFocus }: { takesFocus: boolean }) {
  const { texts, send, sendFiles } = useWidget();
  const field = useRef<HTMLTextAreaElement>(null);
  // Before the chat is painted: what the visitor types at once arrives.
  useLayoutEffect(() => {
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
  const sendPasted = (event: ClipboardEvent) => {
    const files = event.clipboardData?.files;
    if (!sendFiles || !files?.length) return;
    event.preventDefault();
    sendFiles(files);
  };
  return (
    <form class="composer" onSubmit={submit}>
      {sendFiles && <AttachButton onFiles={sendFiles} />}
      <textarea
        ref={field}
        rows={1}
        maxLength={maxCharacters}
        placeholder={texts.write}
        aria-label={texts.write}
        onKeyDown={sendOnEnter}
        onPaste={sendPasted}
      />
      <button type="submit" class="primary">
        {texts.send}
      </button>
    </form>
  );
}

function AttachButton({ onFiles }: { onFiles: (files: FileList) => void }) {
  const { texts } = useWidget();
  const input = useRef<HTMLInputElement>(null);
  const choose = () => {
    const { files } = input.current!;
    if (files?.length) onFiles(files);
    // The same file may be chosen again.
    input.current!.value = '';
  };
  return (
    <>
      <input ref={input} type="file" multiple hidden onChange={choose} />
      <button type="button" class="attach" aria-label={texts.attach} onClick={() => input.current!.click()}>
        <svg viewBox="0 0 24 24" aria-hidden="true">
          <path d="M8 12l6-6a3 3 0 0 1 4 4l-8 8a5 5 0 0 1-7-7l8-8" />
        </svg>
      </button>
    </>
  );
}
