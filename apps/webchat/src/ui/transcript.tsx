import type { Message } from '@botpress/chat';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { ChatState } from '../chat';
import type { Settings } from '../settings';
import { filled } from '../texts/texts';
import { useWidget } from './context';
import { Formatted } from './formatted';
import { MessageBody, Options } from './message-body';

/** Distance from the end, in pixels, within which a new message scrolls the transcript. */
const nearEnd = 120;

interface TranscriptProps {
  state: ChatState;
  settings: Settings;
  onEarlier: () => void;
  onSendAgain: (id: string) => void;
  onDiscard: (id: string) => void;
}

export function Transcript({ state, settings, onEarlier, onSendAgain, onDiscard }: TranscriptProps) {
  const { texts } = useWidget();
  const { messages, pending, streams, userId, isTyping, isLoading, hasEarlier } = state;
  const isEmpty = messages.length === 0 && pending.length === 0 && !isLoading;
  return (
    <Scrolling newest={messages.at(-1)?.id} label={texts.messages}>
      {hasEarlier && (
        <button type="button" class="link" onClick={onEarlier}>
          {texts.earlier}
        </button>
      )}
      {isLoading && <p class="note">{texts.loading}</p>}
      {!hasEarlier && !isLoading && settings.greeting && (
        <Row by={texts.bot}>
          <Formatted text={settings.greeting} />
        </Row>
      )}
      {isEmpty && settings.startingChoices && <Options options={settings.startingChoices} />}
      {messages.map((message) => (
        <Row key={message.id} by={message.userId === userId ? texts.you : texts.bot} isOwn={message.userId === userId}>
          <MessageBody payload={shownPayload(message)} />
        </Row>
      ))}
      {pending.map(({ id, payload, file, uploadedPart, metadata, problem }) => (
        <Row key={id} by={texts.you} isOwn isPending>
          {payload ? (
            <MessageBody payload={shownPayload({ payload, metadata })} />
          ) : (
            <Upload name={file!.name} part={uploadedPart} />
          )}
          {problem && (
            <p class="problem" role="alert">
              {filled(texts.notSent, { problem })}{' '}
              <button type="button" class="link" onClick={() => onSendAgain(id)}>
                {texts.sendAgain}
              </button>{' '}
              <button type="button" class="link" onClick={() => onDiscard(id)}>
                {texts.discard}
              </button>
            </p>
          )}
        </Row>
      ))}
      {streams.map(({ id, text }) => (
        <Row key={id} by={texts.bot}>
          <div class="plain" aria-busy="true">
            {text}
          </div>
        </Row>
      ))}
      {isTyping && streams.length === 0 && <p class="note typing">{texts.typing}</p>}
    </Scrolling>
  );
}

function Upload({ name, part }: { name: string; part?: number }) {
  const { texts } = useWidget();
  return (
    <div class="plain">
      {filled(texts.uploading, { name })}
      <progress value={part} aria-label={name} />
    </div>
  );
}

/** A label of a choice is shown in place of the value that was sent by it. */
function shownPayload({ payload, metadata }: Pick<Message, 'payload' | 'metadata'>): Message['payload'] {
  const label: unknown = metadata?.['label'];
  return payload.type === 'text' && typeof label === 'string' ? { type: 'text', text: label } : payload;
}

interface RowProps {
  by: string;
  isOwn?: boolean;
  isPending?: boolean;
  children: ComponentChildren;
}

function Row({ by, isOwn = false, isPending = false, children }: RowProps) {
  return (
    <div class={`message${isOwn ? ' own' : ''}${isPending ? ' pending' : ''}`}>
      <span class="hidden">{by}: </span>
      {children}
    </div>
  );
}

/** Log that follows its end while the reader is there, and keeps its place while earlier messages are added. */
function Scrolling({ newest, label, children }: { newest?: string; label: string; children: ComponentChildren }) {
  const log = useRef<HTMLDivElement>(null);
  const before = useRef({ newest: undefined as string | undefined, height: 0, wasAtEnd: true });
  useLayoutEffect(() => {
    const element = log.current!;
    const { newest: lastNewest, height, wasAtEnd } = before.current;
    if (wasAtEnd) element.scrollTop = element.scrollHeight;
    else if (newest === lastNewest) element.scrollTop += element.scrollHeight - height;
    before.current = { newest, height: element.scrollHeight, wasAtEnd };
  });
  const noteEnd = () => {
    const { scrollHeight, scrollTop, clientHeight } = log.current!;
    before.current.wasAtEnd = scrollHeight - scrollTop - clientHeight < nearEnd;
  };
  return (
    <div class="transcript" role="log" aria-label={label} tabIndex={0} ref={log} onScroll={noteEnd}>
      {children}
    </div>
  );
}
