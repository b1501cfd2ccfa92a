import { IsInt, IsString } from 'class-validator';
import { service } from '../access';
import { MapOf, Nested, Optional } from '../fields';
import { operation } from '../operation';
import { Empty } from '../paging';

/** Time limit of a webhook in milliseconds, so that the sender gets an answer before it gives up. */
export const webhookTimeoutMs = 55_000;
/** Body of a request, in bytes. */
export const maxWebhookBytes = 10_000_000;
/** With the value `base64`, the body of a request or an answer is base64 of bytes: they are no UTF-8 text. */
export const bodyEncodingHeader = 'x-bp-body-encoding';

/** HTTP request as the integration gets it. */
export class WebhookRequest {
  @IsString() method!: string;

  /** Begins with a slash. Follows the webhook id. */
  @IsString() path!: string;

  /** Without the question mark. */
  @IsString() query!: string;

  /** Names in lower case. Values of a repeated header are joined by commas. */
  @MapOf(String) headers!: Record<string, string>;

  /**
   * Exactly as received, or unpacked if it was compressed: signatures are computed over it. Base64 if it is no UTF-8 text,
   * with the header `x-bp-body-encoding`. Absent without a body.
   */
  @Optional() @IsString() body?: string;
}

export class ReceiveWebhook {
  @IsString() webhookId!: string;
  @Nested(WebhookRequest) request!: WebhookRequest;
}

export class RequireWebhook {
  @IsString() webhookId!: string;
}

export class WebhookAnswer {
  @IsInt() status!: number;

  /** Names in lower case. */
  @MapOf(String) headers!: Record<string, string>;

  /** Base64 with the header `x-bp-body-encoding: base64`, otherwise text. */
  @IsString() body!: string;
}

export class ReceiveSharedWebhook {
  /** Begins with the name of the integration, without a slash before it. */
  @IsString() path!: string;

  @Nested(WebhookRequest) request!: WebhookRequest;
}

export const webhooks = {
  require: operation({
    subject: 'runtime.webhooks.require',
    summary: 'Throws ResourceNotFound unless an enabled installation has the webhook. Called before the body is read.',
    access: service,
    input: RequireWebhook,
    output: Empty,
  }),
  receiveShared: operation({
    subject: 'runtime.webhooks.receiveShared',
    summary: 'Hands a request to the shared webhook of an integration to the installation that it is for.',
    access: service,
    input: ReceiveSharedWebhook,
    output: WebhookAnswer,
    timeoutMs: webhookTimeoutMs + 10_000,
  }),
  receive: operation({
    subject: 'runtime.webhooks.receive',
    summary: 'Hands a request to the webhook of an installation to its integration, and returns the answer.',
    access: service,
    input: ReceiveWebhook,
    output: WebhookAnswer,
    timeoutMs: webhookTimeoutMs + 3_000,
  }),
};
