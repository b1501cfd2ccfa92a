import { IsArray, IsBoolean, IsInt, IsString } from 'class-validator';
import { service } from '../access';
import { JsonObject, Nested, Nullable } from '../fields';
import { operation } from '../operation';
import { codeOperations, CodeTarget } from '../runner/code';

export class GetIntegrationTarget {
  /** Version id. */
  @IsString() integrationId!: string;
}

/** All that a call of an integration needs, whichever bot it is called for. Contains decrypted secrets. */
export class IntegrationTarget {
  @IsString() integrationId!: string;

  /** Server of the integration. It takes precedence over code. */
  @Nullable() @IsString() url!: string | null;

  /** Null without code. */
  @Nullable() @Nested(CodeTarget) code!: CodeTarget | null;

  @IsBoolean() isDev!: boolean;

  /** `maxExecutionTime` of the integration, or its default. */
  @IsInt() timeoutMs!: number;

  /** Names of the enabled opt-in operations. */
  @IsArray() @IsString({ each: true }) extraOperations!: string[];

  /** Current signing secret first, then the one that a rotation replaced in the last 24 hours. */
  @IsArray() @IsString({ each: true }) signingSecrets!: string[];
}

export class GetIntegrationAction extends GetIntegrationTarget {
  /** Bare name of the action. */
  @IsString() action!: string;
}

export class IntegrationAction {
  @JsonObject({ maxBytes: 200_000 }) inputSchema!: Record<string, unknown>;
  @JsonObject({ maxBytes: 200_000 }) outputSchema!: Record<string, unknown>;
}

export const integrationCode = codeOperations('hub.integrationCode', 'an integration');

export const integrationTargets = {
  get: operation({
    subject: 'hub.integrationTargets.get',
    summary: 'Gets all that a call of a version of an integration needs: address, time limit and signing secrets.',
    access: service,
    input: GetIntegrationTarget,
    output: IntegrationTarget,
  }),
  getAction: operation({
    subject: 'hub.integrationTargets.getAction',
    summary: 'Gets the schemas of an action of an integration.',
    access: service,
    input: GetIntegrationAction,
    output: IntegrationAction,
  }),
};
