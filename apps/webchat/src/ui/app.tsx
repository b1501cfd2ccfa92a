import { useEffect, useState } from 'preact/hooks';
import type { Chat } from '../chat';
import { safeUrl } from '../safe-url';
import type { Settings } from '../settings';
import type { Texts } from '../texts/names';
import { filled } from '../texts/texts';
import { Composer } from './composer';
import { useWidget, Widget } from './context';
import { ConversationList } from './conversation-list';
import { useDrop } from './drop';
import { Transcript } from './transcript';

/** `bubble`: button in a corner of the page that opens the chat. `inline`: fills the element. `page`: fills a page. */
export type Mode = 'bubble' | 'inline' | 'page';

export interface AppProps {
  mode: Mode;
  isOpen: boolean;
  /** The visitor has opened the chat: the field for messages gets the focus. */
  takesFocus: boolean;
  texts: Texts;
  language: string;
  /** Absent until they are loaded. */
  settings?: Settings;
  chat?: Chat;
  /** Why the settings could not be loaded. */
  problem?: string;
  onToggle: (isOpen: boolean) => void;
  onRetry: () => void;
}

export function App(props: AppProps) {
  const { mode, isOpen, texts, settings, chat, onToggle } = props;
  const send = (text: string, label?: string) => void chat?.send(text, label);
  const sendFiles = settings?.allowsUploads ? (files: FileList) => void chat?.sendFiles([...files]) : undefined;
  return (
    <Widget.Provider value={{ texts, send, sendFiles }}>
      {(isOpen || mode !== 'bubble') && <Panel {...props} />}
      {mode === 'bubble' && (
        <button
          type="button"
          class="launcher"
          aria-expanded={isOpen}
          aria-label={isOpen ? texts.close : texts.open}
          onClick={() => onToggle(!isOpen)}
        >
          <svg viewBox="0 0 24 24" aria-hidden="true">
            <path d={isOpen ? 'M6 9l6 6 6-6' : 'M4 5h16v11H9l-5 4z'} />
          </svg>
        </button>
      )}
    </Widget.Provider>
  );
}

function Panel({ mode, takesFocus, texts, language, settings, chat, problem, onToggle, onRetry }: AppProps) {
  const [showsList, setShowsList] = useState(false);
  const { isOver, ...drop } = useDrop(useWidget().sendFiles);
  const state = chat?.current;
  const isBubble = mode === 'bubble';
  useEffect(() => {
    if (showsList) void chat?.loadConversations();
  }, [showsList, chat]);
  const closeOnEscape = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && isBubble) onToggle(false);
  };
  const openConversation = (id: string) => {
    setShowsList(false);
    void chat?.open(id);
  };
  const startAnew = () => {
    setShowsList(false);
    chat?.startAnew();
  };
  return (
    <section
      class={`panel ${mode}`}
      role={isBubble ? 'dialog' : 'region'}
      aria-label={settings?.title ?? texts.messages}
      onKeyDown={closeOnEscape}
      {...drop}
    >
      {isOver && <p class="drop">{texts.dropFiles}</p>}
      <header>
        {settings?.avatarUrl && <img class="avatar" src={safeUrl(settings.avatarUrl)} alt="" />}
        <div class="titles">
          <h2>{settings?.title ?? texts.loading}</h2>
          {settings?.description && <p>{settings.description}</p>}
        </div>
        {state?.userId && (
          <button type="button" class="header" onClick={() => setShowsList(!showsList)}>
            {showsList ? texts.back : texts.conversations}
          </button>
        )}
      </header>
      {state && !state.isOnline && (
        <p class="banner" role="status">
          {texts.offline}
        </p>
      )}
      {problem && (
        <p class="banner" role="alert">
          {filled(texts.unavailable, { problem })}{' '}
          <button type="button" class="link" onClick={onRetry}>
            {texts.tryAgain}
          </button>
        </p>
      )}
      {state?.problem && (
        <p class="banner" role="alert">
          {filled(texts.unavailable, { problem: state.problem })}
        </p>
      )}
      {settings && chat && state && showsList && (
        <ConversationList
          conversations={state.conversations}
          current={state.conversationId}
          language={language}
          onOpen={openConversation}
          onNew={startAnew}
        />
      )}
      {settings && chat && state && !showsList && (
        <>
          <Transcript
            state={state}
            settings={settings}
            onEarlier={() => void chat.loadEarlier()}
            onSendAgain={(id) => void chat.sendAgain(id)}
            onDiscard={(id) => chat.discard(id)}
          />
          <Composer takesFocus={takesFocus} />
        </>
      )}
    </section>
  );
}
