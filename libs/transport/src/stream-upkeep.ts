import type { JetStreamManager } from 'nats';
import type { Consumer } from '@parley/contracts/operation';
import type { NatsLink } from './nats-connection';
import { bodyStream, eventStream } from './subjects';
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
  /** Events not yet delivered. */
  waiting: number;
  /** Events being handled or waiting for a redelivery. */
  underWay: number;
}

/** Operator's view of streams and consumers: creates, updates and lists them. Apps only recreate lost ones. */
export class StreamUpkeep {
  constructor(private readonly link: NatsLink) {}

  /**
   * Creates missing streams and consumers and updates different ones. Idempotent and safe to run concurrently. Yields
   * one line for each.
   */
  async *bringUpToDate(consumers: Consumer[], replicas: number): AsyncGenerator<string> {
    const manager = await this.manager();
    for (const desired of [eventStreamConfig(replicas), bodyStreamConfig(replicas)]) {
      yield `stream ${desired.name}: ${await bringStreamUpToDate(manager, desired)}`;
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
