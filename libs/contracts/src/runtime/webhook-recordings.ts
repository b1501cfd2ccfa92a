import { IsBoolean, IsInt, IsString } from 'class-validator';
import { type Access, operator, workspace } from '../access';
import { InstalledAlias } from '../admin/registrations';
import { ListOf, MapOf, Nested, Optional } from '../fields';
import { operation } from '../operation';
import { PathParam } from '../query-fields';
import { WebhookAnswer, webhookTimeoutMs } from './webhooks';

/** Latest requests that are kept of an installation, and the days for which they are. */
export const maxRecordedRequests = 20;
export const recordedDays = 7;
/** Largest body that is kept, in bytes. */
export const maxRecordedBodyBytes = 256 * 1024;

export class SetWebhookRecording extends InstalledAlias {
  /** `false` also erases the recorded requests. */
  @IsBoolean() enabled!: boolean;
}

export class WebhookRecording {
  @IsBoolean() enabled!: boolean;
}

export class RecordedRequestSummary {
  @IsString() id!: string;
  @IsString() receivedAt!: string;
  @IsString() method!: string;

  /** Begins with a slash. Follows the webhook id. */
  @IsString() path!: string;

  /** Without the question mark. */
  @IsString() query!: string;

  /** HTTP status that the sender got. */
  @IsInt() status!: number;

  /** Size of the bytes that were received, unpacked. */
  @IsInt() bodyBytes!: number;

  /** False if the body was too large to be kept: such a request cannot be replayed. */
  @IsBoolean() isComplete!: boolean;
}

export class RecordedRequests extends WebhookRecording {
  /** Newest first. */
  @ListOf(RecordedRequestSummary, { maxItems: maxRecordedRequests }) requests!: RecordedRequestSummary[];
}

export class RecordedRequest extends RecordedRequestSummary {
  /** Names in lower case. Without the headers that hold secrets. */
  @MapOf(String) headers!: Record<string, string>;

  /** Names of the headers that were received, and not kept: they may hold secrets. */
  @IsString({ each: true }) maskedHeaders!: string[];

  /** As the integration got it. Absent without a body, and for one that was too large. */
  @Optional() @IsString() body?: string;
}

export class RecordedRequestId extends InstalledAlias {
  @PathParam({ maxLength: 200 }) requestId!: string;
}

export class RecordedRequestReply {
  @Nested(RecordedRequest) request!: RecordedRequest;
}

export class ReplayRequest extends RecordedRequestId {
  /** Sent in addition to the recorded ones, such as in place of those that were masked. */
  @Optional() @MapOf(String, { maxEntries: 50, maxLength: 8_000 }) headers?: Record<string, string>;
}

const timeoutMs = webhookTimeoutMs + 3_000;

/** Requests hold data of others, so that reading them takes a role that may change the bot. */
function operations<A extends Access>(
  access: A,
  suffix: string,
  base: '/v1/admin' | '/operator/runtime',
  isOwn: boolean,
) {
  const installation = `${base}/bots/{botId}/integrations/{alias}` as const;
  const requests = `${installation}/webhook-requests` as const;
  return {
    set: operation({
      subject: `runtime.webhookRecordings.set${suffix}`,
      route: `PUT ${installation}/webhook-recording`,
      summary: 'Starts to record the requests to the webhook of an installation, or ends it and erases them.',
      ...{ access, isOwn },
      input: SetWebhookRecording,
      output: WebhookRecording,
    }),
    list: operation({
      subject: `runtime.webhookRecordings.list${suffix}`,
      route: `GET ${requests}`,
      summary: 'Lists the recorded requests to the webhook of an installation, the latest 20 of 7 days, newest first.',
      ...{ access, isOwn },
      input: InstalledAlias,
      output: RecordedRequests,
    }),
    get: operation({
      subject: `runtime.webhookRecordings.get${suffix}`,
      route: `GET ${requests}/{requestId}`,
      summary: 'Gets a recorded request with its headers and its body.',
      ...{ access, isOwn },
      input: RecordedRequestId,
      output: RecordedRequestReply,
    }),
    replay: operation({
      subject: `runtime.webhookRecordings.replay${suffix}`,
      route: `POST ${requests}/{requestId}/replay`,
      summary: 'Hands a recorded request to the integration once more, and returns its answer.',
      ...{ access, isOwn, timeoutMs },
      input: ReplayRequest,
      output: WebhookAnswer,
    }),
  };
}

const ofMembers = operations(workspace.write, '', '/v1/admin', true);
const ofOperators = operations(operator, 'OfAnyBot', '/operator/runtime', false);

export const webhookRecordings = {
  ...ofMembers,
  setOfAnyBot: ofOperators.set,
  listOfAnyBot: ofOperators.list,
  getOfAnyBot: ofOperators.get,
  replayOfAnyBot: ofOperators.replay,
};
