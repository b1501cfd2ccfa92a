/** Types of the plugin and of the desk, as the CLI generates them from their definitions. */

type Action<Input, Output = object> = { input: Input; output: Output };
type Tags<Names extends string> = { tags: Record<Names, object> };

interface Session {
  conversationId: string;
}

interface Opening {
  userId: string;
  title: string;
  description?: string;
  messageHistory?: object[];
}

type Events = { hitlAssigned: Session & { userId: string }; hitlStopped: Session };
type Actions = {
  createUser: Action<{ name?: string; pictureUrl?: string; email?: string }, { userId: string }>;
  startHitl: Action<Opening, Session>;
  stopHitl: Action<Session & { reason?: 'timeout' | 'cancel' }>;
};
type Messages = { text: { text: string; userId?: string } };

/** Absent fields take defaults. */
export interface HandoffConfiguration {
  onHitlHandoffMessage?: string;
  /** Without it, a session waits for an agent for ever. */
  agentAssignedTimeoutSeconds?: number;
}

export type HandoffTypes = {
  name: 'handoff';
  version: string;
  configuration: HandoffConfiguration;
  integrations: Record<never, never>;
  interfaces: {
    hitl: {
      name: 'hitl';
      version: string;
      entities: Record<never, never>;
      events: Events;
      actions: Actions;
      channels: { hitl: { messages: Messages } };
    };
  };
  events: { humanAgentAssignedTimeout: { sessionStartedAt: string; downstreamConversationId: string } };
  states: {
    hitl: { type: 'conversation'; payload: { hitlActive: boolean } };
    effectiveSessionConfig: { type: 'conversation'; payload: HandoffConfiguration };
  };
  actions: {
    startHitl: Action<Session & { title: string; userId: string; configurationOverrides?: HandoffConfiguration }>;
    stopHitl: Action<Session>;
  };
  tables: Record<never, never>;
  workflows: Record<never, never>;
  user: Tags<'upstream' | 'downstream'>;
  conversation: Tags<'upstream' | 'downstream' | 'humanAgentId' | 'humanAgentName'>;
  message: Tags<never>;
};

export type DeskTypes = {
  name: 'desk';
  version: string;
  configuration: object;
  configurations: Record<never, never>;
  actions: Actions;
  channels: { hitl: { messages: Messages; message: Tags<'shownAs'>; conversation: Tags<'ticket' | 'closed'> } };
  events: Events;
  states: { ticket: { type: 'conversation'; payload: { opened: object } } };
  user: Tags<'email'>;
  entities: Record<never, never>;
};
