import type { Broadcast, Channel, Consumer, Contract, Event, InstanceOperation, Operation } from '../operation';

export type AppName = 'gateway' | 'admin' | 'hub' | 'files' | 'files-worker' | 'tables' | 'chat' | 'runtime' | 'runner';

/** Bus permissions of an app: all that it may publish and subscribe to. */
export interface App {
  answers: Contract;
  /** Operations of other apps. */
  asks: Operation[];
  /** Operations that single processes of the app answer, each for the keys of what it holds. */
  answersByInstance?: InstanceOperation[];
  asksInstances?: InstanceOperation[];
  /** Events that its outbox may hold. */
  announces: Event[];
  consumes: Consumer[];
  /** Consumers whose dead letters its outbox may replay. The app's own consumers when absent. */
  repeats?: Consumer[];
  tells: (Broadcast | Channel)[];
  hears: (Broadcast | Channel)[];
}

export const nothing: App = { answers: {}, asks: [], announces: [], consumes: [], tells: [], hears: [] };
