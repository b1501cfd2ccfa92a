import { chatIntegration } from '@parley/contracts/hub/built-in';
import type { HubSummary } from '@parley/contracts/hub/resolution';

export const chatAlias = 'chat';

/** Hub summary of the built-in chat, equal to the hub's seed. New bots get it without a call to the hub. */
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
