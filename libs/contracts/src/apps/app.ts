import type { Broadcast, Channel, Consumer, Contract, Event, InstanceOperation, Operation } from '../operation';

export type AppName =
  | 'gateway'
  | 'admin'
  | 'hub'
  | 'files'
  | 'files-worker'
  | 'tables'
  | 'chat'
  | 'runtime'
  | 'runner'
  | 'models';

/** Bus permissions of an app: all that it may publish and subscribe to. */
export interface App {
  serves: Contract;
  /** Operations of other apps. */
  requests: Operation[];
  /** Operations that only its processes of the former release request: they need the permission during an upgrade. */
  formerRequests?: Operation[];
  /** Operations that single processes of the app answer, each for the keys of what it holds. */
  servesByInstance?: InstanceOperation[];
  requestsInstances?: InstanceOperation[];
  /** Events that its outbox may hold. */
  publishes: Event[];
  /** Events that only its processes of the former release put into the outbox, which a process of this one may publish. */
  formerPublishes?: Event[];
  consumes: Consumer[];
  /** Consumers of other apps: it asks whether a process works on their events. */
  watches?: Consumer[];
  /** Consumers whose dead letters its outbox may replay. The app's own consumers when absent. */
  republishes?: Consumer[];
  broadcasts: (Broadcast | Channel)[];
  listens: (Broadcast | Channel)[];
}

export const nothing: App = { serves: {}, requests: [], publishes: [], consumes: [], broadcasts: [], listens: [] };
