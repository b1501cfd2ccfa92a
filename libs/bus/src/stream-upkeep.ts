import type { JetStreamManager } from 'nats';
import type { Consumer } from '@parley/contracts/operation';
import type { NatsLink } from './nats-connection';
import { bodyStream, eventStream } from './places';
import {
  bodyStreamConfig,
  bringDurableUpToDate,
  bringStreamUpToDate,
  durablesOf,
  eventStreamConfig,
  unlessGone,
} from './streams';

export interface StreamState {
  stream: string;
  messages: number;
  bytes: number;
  replicas: number;
}

export interface ConsumerState {
  consumer: string;
  /** Events that it was not given yet. */
  waiting: number;
  /** Events that are worked on, or wait to come again. */
  underWay: number;
}

/** For whoever operates the platform: makes streams and consumers, and looks at them. Apps do neither but to heal. */
export class StreamUpkeep {
  constructor(private readonly link: NatsLink) {}

  /** Makes what is missing and changes what is different; safe to repeat, and for many at once. One line for each. */
  async *bringUpToDate(consumers: Consumer[], replicas: number): AsyncGenerator<string> {
    const manager = await this.manager();
    for (const wanted of [eventStreamConfig(replicas), bodyStreamConfig(replicas)]) {
      yield `stream ${wanted.name}: ${await bringStreamUpToDate(manager, wanted)}`;
    }
    for (const { name, event } of consumers) {
      for (const durable of Object.values(durablesOf(name, event.subject))) {
        yield `consumer ${durable.name}: ${await bringDurableUpToDate(manager, durable)}`;
      }
    }
  }

  async list(): Promise<{ streams: StreamState[]; consumers: ConsumerState[] }> {
    const manager = await this.manager();
    const streams: StreamState[] = [];
    for (const name of [eventStream, bodyStream]) {
      const info = await unlessGone(manager.streams.info(name));
      if (!info) continue;
      const { messages, bytes } = info.state;
      streams.push({ stream: name, messages, bytes, replicas: info.config.num_replicas });
    }
    const consumers: ConsumerState[] = [];
    if (streams.some(({ stream }) => stream === eventStream)) {
      for await (const { name, num_pending, num_ack_pending } of manager.consumers.list(eventStream)) {
        consumers.push({ consumer: name, waiting: num_pending, underWay: num_ack_pending });
      }
    }
    return { streams, consumers };
  }

  private manager(): Promise<JetStreamManager> {
    return this.link.connection.jetstreamManager({ checkAPI: false });
  }
}
