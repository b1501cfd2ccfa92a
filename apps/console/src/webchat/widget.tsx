import { useEffect, useRef } from 'react';

interface ElementAttributes {
  'chat-title'?: string;
  greeting?: string;
  'primary-color'?: string;
  'color-scheme'?: string;
}

interface WidgetProps extends ElementAttributes {
  webhookId: string;
  /** Called with the conversation that is shown; undefined before the first message. */
  onConversation?: (id: string | undefined) => void;
}

declare module 'react' {
  // oxlint-disable-next-line typescript/no-namespace -- the only way to declare an element
  namespace JSX {
    interface IntrinsicElements {
      'parley-webchat': ElementAttributes & { ref?: Ref<HTMLElement>; 'webhook-id': string; mode: string };
    }
  }
}

const script = '/webchat/embed.js';

/** Web chat of a bot. It talks to the bot by the public client. */
export function Widget({ webhookId, onConversation, ...attributes }: WidgetProps) {
  const element = useRef<HTMLElement>(null);
  useEffect(loadScript, []);
  useEffect(() => {
    const told = (event: Event) => onConversation?.((event as CustomEvent<{ id?: string }>).detail.id);
    const listened = element.current!;
    listened.addEventListener('parley-conversation', told);
    return () => listened.removeEventListener('parley-conversation', told);
  }, [onConversation]);
  return <parley-webchat ref={element} webhook-id={webhookId} mode="inline" {...attributes} />;
}

/** The page loads the script once; the element stays defined. */
function loadScript(): void {
  if (document.querySelector(`script[src="${script}"]`)) return;
  const element = document.createElement('script');
  element.type = 'module';
  element.src = script;
  document.head.append(element);
}
