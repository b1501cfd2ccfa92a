import { IsString, MaxLength } from 'class-validator';
import { service, token } from '../access';
import { JsonObject, Nested, Nullable, Optional } from '../fields';
import { operation } from '../operation';
import { Empty } from '../paging';
import { WebhookAnswer, WebhookRequest } from '../runtime/webhooks';

export class SharedWebhook {
  /** Begins with the name of the integration, without a slash before it. */
  @IsString() path!: string;

  @Nested(WebhookRequest) request!: WebhookRequest;
}

export class RequireSharedWebhook {
  /** Begins with the name of the integration, without a slash before it. */
  @IsString() path!: string;
}

/** Result of the integration's scripts. */
export class RoutedWebhook {
  /** Owner and name of the integration. Null for an unknown name. */
  @Nullable() @IsString() family!: string | null;

  /** Path behind the name, with a leading slash. */
  @IsString() path!: string;

  /** Identifier of an installation. Null if the script found none. */
  @Nullable() @IsString() identifier!: string | null;
}

export class FallbackAnswer {
  /** Absent without a script, and for a script with a problem. */
  @Optional() @Nested(WebhookAnswer) answer?: WebhookAnswer;
}

export const sharedWebhooks = {
  require: operation({
    subject: 'hub.sharedWebhooks.require',
    summary:
      'Throws ResourceNotFound unless an integration of the name has scripts for its shared webhook. Called before the body is read.',
    access: service,
    input: RequireSharedWebhook,
    output: Empty,
  }),
  route: operation({
    subject: 'hub.sharedWebhooks.route',
    summary: 'Finds for which installation a request to the shared webhook of an integration is, by its script.',
    access: service,
    input: SharedWebhook,
    output: RoutedWebhook,
  }),
  answer: operation({
    subject: 'hub.sharedWebhooks.answer',
    summary: 'Answers a request to the shared webhook of an integration that is for no installation, by its script.',
    access: service,
    input: SharedWebhook,
    output: FallbackAnswer,
  }),
};

export class RunVrl {
  @JsonObject() data!: Record<string, unknown>;
  @IsString() @MaxLength(20_000) script!: string;
}

export class VrlReply {
  /** As the script left it. */
  @JsonObject() data!: Record<string, unknown>;

  /** Absent if the script returns nothing. */
  @Optional() result?: unknown;
}

export const vrlScripts = {
  run: operation({
    subject: 'hub.vrlScripts.run',
    route: 'POST /v1/admin/helper/vrl',
    summary: 'Runs a script in the Vector Remap Language, bounded in time and memory.',
    access: token,
    input: RunVrl,
    output: VrlReply,
  }),
};
