import { render } from 'preact';
import { Chat } from './chat';
import { loadClient } from './chat-api';
import { ChatError } from './requests';
import { loadSettings, type Settings } from './settings';
import { styleSheet } from './styles';
import type { Texts } from './texts/names';
import { textsFor } from './texts/texts';
import { App, type Mode } from './ui/app';
import { VisitorMemory } from './visitor';

const scriptOrigin = new URL(import.meta.url).origin;
const darkScheme = matchMedia('(prefers-color-scheme: dark)');
const openName = 'open';

/**
 * Web chat of a bot: `<parley-webchat webhook-id="…"></parley-webchat>`. Attributes and events: docs/webchat.md of Parley.
 */
class ParleyWebchat extends HTMLElement {
  static readonly observedAttributes = [
    ...['webhook-id', 'base-url', 'mode', 'user-key', 'lang', 'chat-title', 'greeting', 'primary-color'],
    ...['color-scheme', openName],
  ];

  private readonly root = this.attachShadow({ mode: 'open' });
  private settings?: Settings;
  private chat?: Chat;
  private problem?: string;
  private changedTexts?: Partial<Texts>;
  /** Aborts what belongs to an earlier bot or user of this element. */
  private current = new AbortController();
  private takesFocus = false;
  /** Single flight. */
  private loading?: Promise<void>;

  constructor() {
    super();
    this.root.adoptedStyleSheets = [styleSheet()];
  }

  /** Texts that replace those of the language, by the names in `texts/en.ts`. */
  set texts(texts: Partial<Texts>) {
    this.changedTexts = texts;
    this.draw();
  }

  connectedCallback(): void {
    darkScheme.addEventListener('change', this.draw);
    if (this.isOpen) void this.load();
    this.draw();
  }

  disconnectedCallback(): void {
    darkScheme.removeEventListener('change', this.draw);
    this.stop();
    render(null, this.root);
  }

  attributeChangedCallback(name: string, before: string | null, now: string | null): void {
    if (!this.isConnected || before === now) return;
    if (['webhook-id', 'base-url', 'user-key'].includes(name)) this.stop();
    if (this.isOpen) void this.load();
    this.draw();
  }

  get isOpen(): boolean {
    return this.mode !== 'bubble' || this.hasAttribute(openName);
  }

  open(): void {
    this.toggle(true);
  }

  close(): void {
    this.toggle(false);
  }

  /** Sends a message of the visitor. */
  async sendMessage(text: string): Promise<void> {
    await (await this.started()).send(text);
  }

  /** Sends a custom event to the bot. Throws an error that says why it was not sent. */
  async sendEvent(payload: Record<string, unknown>): Promise<void> {
    await (await this.started()).sendEvent(payload);
  }

  private get mode(): Mode {
    const mode = this.getAttribute('mode');
    return mode === 'inline' || mode === 'page' ? mode : 'bubble';
  }

  private get languages(): string[] {
    // The page of the platform has the language of its reader.
    const ofPage = this.mode === 'page' ? '' : document.documentElement.lang;
    return [this.lang, ofPage, ...navigator.languages].filter(Boolean);
  }

  private toggle(isOpen: boolean): void {
    this.takesFocus = isOpen;
    this.toggleAttribute(openName, isOpen);
    this.tell(isOpen ? 'parley-open' : 'parley-close');
    if (!isOpen) this.root.querySelector<HTMLElement>('.launcher')?.focus();
  }

  private load(): Promise<void> {
    this.loading ??= this.start(this.current.signal);
    return this.loading;
  }

  private async started(): Promise<Chat> {
    await this.load();
    if (!this.chat) throw new ChatError(this.problem ?? 'The chat is not available.', 0);
    return this.chat;
  }

  private async start(signal: AbortSignal): Promise<void> {
    const webhookId = this.getAttribute('webhook-id');
    try {
      if (!webhookId) throw new ChatError('The attribute webhook-id is missing.', 0);
      const settings = await loadSettings(this.getAttribute('base-url') ?? scriptOrigin, webhookId);
      if (signal.aborted) return;
      const memory = new VisitorMemory(webhookId, this.getAttribute('user-key') ?? undefined);
      const chat = new Chat(settings.chatUrl, memory, {
        changed: () => signal.aborted || this.draw(),
        conversationChanged: (id) => signal.aborted || this.tell('parley-conversation', { id }),
        messageArrived: (message) => this.tell('parley-message', message),
        eventArrived: (payload) => this.tell('parley-event', payload),
      });
      signal.addEventListener('abort', () => chat.leave());
      this.settings = settings;
      this.chat = chat;
      this.problem = undefined;
      prepareClient();
      if (this.mode === 'page') describePage(this.shownSettings!.title, this.languages[0]);
      await chat.resume();
      if (!signal.aborted) this.tell('parley-ready');
    } catch (error) {
      if (signal.aborted) return;
      this.problem = error instanceof Error ? error.message : String(error);
      this.loading = undefined;
    }
    this.draw();
  }

  private stop(): void {
    this.current.abort();
    this.current = new AbortController();
    this.loading = undefined;
    this.settings = undefined;
    this.chat = undefined;
  }

  /** Attributes of the page win over the stored settings. */
  private get shownSettings(): Settings | undefined {
    if (!this.settings) return undefined;
    const { title, greeting, primaryColor } = this.settings;
    return {
      ...this.settings,
      title: this.getAttribute('chat-title') ?? title,
      greeting: this.getAttribute('greeting') ?? greeting,
      primaryColor: this.getAttribute('primary-color') ?? primaryColor,
    };
  }

  private readonly draw = (): void => {
    if (!this.isConnected) return;
    const settings = this.shownSettings;
    const scheme = this.getAttribute('color-scheme') ?? settings?.colorScheme ?? 'auto';
    this.dataset['scheme'] = scheme === 'auto' ? (darkScheme.matches ? 'dark' : 'light') : scheme;
    if (settings?.primaryColor) showPrimary(this, settings.primaryColor);
    render(
      <App
        mode={this.mode}
        isOpen={this.isOpen}
        takesFocus={this.takesFocus}
        texts={textsFor(this.languages, this.changedTexts)}
        language={this.languages[0] ?? 'en'}
        settings={settings}
        chat={this.chat}
        problem={this.problem}
        onToggle={(isOpen) => this.toggle(isOpen)}
        onRetry={() => void this.load()}
      />,
      this.root,
    );
  };

  private tell(name: string, detail?: unknown): void {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }
}

/** Loads the public client for the first message, after the next frame. Where it fails, whoever needs it tries again. */
function prepareClient(): void {
  requestAnimationFrame(() => setTimeout(() => loadClient().catch(() => undefined)));
}

function describePage(title: string, language = 'en'): void {
  document.title = title;
  document.documentElement.lang = language;
}

/** Text on the color is black or white, whichever has the higher contrast. */
function showPrimary(element: HTMLElement, color: string): void {
  if (!/^#[0-9a-f]{6}$/i.test(color)) return;
  const [red, green, blue] = [1, 3, 5].map((start) => {
    const part = parseInt(color.slice(start, start + 2), 16) / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  const isDark = 1.05 / (luminance + 0.05) >= (luminance + 0.05) / 0.05;
  element.style.setProperty('--parley-primary', color);
  element.style.setProperty('--parley-on-primary', isDark ? '#ffffff' : '#000000');
}

// A page may load the script twice.
if (!customElements.get('parley-webchat')) customElements.define('parley-webchat', ParleyWebchat);
