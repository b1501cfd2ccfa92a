import type { HubSummary } from '@parley/contracts/hub/resolution';

/** The chat that comes with the platform, as the hub is seeded with it: what every new bot has, without asking the hub. */
export const builtInChat: HubSummary = {
  id: 'intver_00000000000000000000000001',
  name: 'chat',
  version: '1.0.0',
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
  title: 'Chat',
  description: 'Lets websites and applications talk with the bot over HTTP, with live updates.',
  iconUrl: '',
  readmeUrl: '',
  visibility: 'public',
  verificationStatus: 'approved',
  lifecycleStatus: 'published',
};

/** Under which every new bot has it. */
export const chatAlias = 'chat';
