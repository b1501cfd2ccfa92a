import { respond } from './requests';

export interface StartingChoice {
  label: string;
  value: string;
}

/** Answer of `GET /webchat/{webhookId}/settings`. */
export interface Settings {
  title: string;
  description?: string;
  avatarUrl?: string;
  primaryColor?: string;
  colorScheme?: 'auto' | 'light' | 'dark';
  greeting?: string;
  startingChoices?: StartingChoice[];
  allowsUploads?: boolean;
  chatUrl: string;
}

/** Throws ChatError. */
export async function loadSettings(origin: string, webhookId: string): Promise<Settings> {
  const response = await respond(`${origin}/webchat/${encodeURIComponent(webhookId)}/settings`);
  return (await response.json()) as Settings;
}
