/** Installations of the bot: the plugin, and the desk that implements its interface. */
export const pluginAlias = 'hitl';
export const deskAlias = 'support';

/** How the desk implements the interface: under the same names. */
export const implementation = {
  entities: {},
  actions: { createUser: { name: 'createUser' }, startHitl: { name: 'startHitl' }, stopHitl: { name: 'stopHitl' } },
  events: { hitlAssigned: { name: 'hitlAssigned' }, hitlStopped: { name: 'hitlStopped' } },
  channels: { hitl: { name: 'hitl' } },
};

/** Texts of the plugin by default. */
export const defaultMessages = {
  handedOver: 'I have asked a person to take over. They will be with you soon.',
  assigned: 'A person has joined the conversation.',
  stopped: 'The person has left the conversation. I am here again.',
  timedOut: 'Nobody is free at the moment. I am here again.',
  /** For the agent. */
  cancelled: 'The session has ended.',
};

/** Request of an agent, which the desk gets by its webhook. */
export interface AgentRequest {
  ask: 'ticket' | 'join' | 'say' | 'leave';
  conversationId: string;
  agent: string;
  /** Of `say`. */
  text?: string;
}
