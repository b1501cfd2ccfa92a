import type { SnippetType, WebchatSettings } from '@parley/contracts/admin/webchats';

export interface SnippetSource {
  publicUrl: string;
  webhookId: string;
  botName: string;
  settings: WebchatSettings;
}

/** HTML to paste into a page, or the address of the full page. No form needs an inline script or style. */
export function snippetOf(type: SnippetType, { publicUrl, webhookId, botName, settings }: SnippetSource): string {
  const address = `${publicUrl}/webchat/${encodeURIComponent(webhookId)}`;
  const title = settings.title ?? botName;
  switch (type) {
    case 'preconfigured':
      return element(publicUrl, { 'webhook-id': webhookId });
    case 'configurable':
      return element(publicUrl, {
        'webhook-id': webhookId,
        'chat-title': title,
        greeting: settings.greeting ?? '',
        'primary-color': settings.primaryColor ?? '#1864ab',
        'color-scheme': settings.colorScheme ?? 'auto',
      });
    case 'fullscreen':
      return tag('iframe', { src: address, title, width: '100%', height: '640' });
    case 'sharableUrl':
      return address;
  }
}

function element(publicUrl: string, attributes: Record<string, string>): string {
  const script = tag('script', { type: 'module', src: `${publicUrl}/webchat/embed.js` });
  return `${script}\n${tag('parley-webchat', attributes)}`;
}

function tag(name: string, attributes: Record<string, string>): string {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(value)}"`);
  return `<${name}${written.join('')}></${name}>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
