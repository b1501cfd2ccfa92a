import type { Conversation } from '@botpress/chat';
import { filled } from '../texts/texts';
import { useWidget } from './context';

interface ConversationListProps {
  conversations: readonly Conversation[];
  current?: string;
  language: string;
  onOpen: (id: string) => void;
  onNew: () => void;
}

export function ConversationList({ conversations, current, language, onOpen, onNew }: ConversationListProps) {
  const { texts } = useWidget();
  const time = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short' });
  return (
    <div class="transcript">
      <button type="button" class="primary" onClick={onNew}>
        {texts.newConversation}
      </button>
      {conversations.length === 0 && <p class="note">{texts.noConversations}</p>}
      <ul class="conversations" aria-label={texts.conversations}>
        {conversations.map(({ id, createdAt }) => (
          <li key={id}>
            <button type="button" class="option" aria-current={id === current} onClick={() => onOpen(id)}>
              {filled(texts.startedAt, { time: time.format(new Date(createdAt)) })}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
