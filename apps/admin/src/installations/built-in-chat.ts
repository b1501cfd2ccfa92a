import { chatIntegration } from '@parley/contracts/hub/built-in';
import type { HubSummary } from '@parley/contracts/hub/resolution';

/** Under which every new bot has the chat. */
export const chatAlias = 'chat';

/** The chat that comes with the platform, as the hub is seeded with it: every new bot gets it without asking the hub. */
export const builtInChat: HubSummary = {
  id: chatIntegration.id,
  name: chatIntegration.name,
  version: chatIntegration.version,
  createdAt: chatIntegration.publishedAt,
  updatedAt: chatIntegration.publishedAt,
  title: chatIntegration.title,
  description: chatIntegration.description,
  iconUrl: '',
  readmeUrl: '',
  visibility: 'public',
  verificationStatus: 'approved',
  lifecycleStatus: 'published',
};
