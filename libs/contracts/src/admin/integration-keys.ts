import { IsString, Length } from 'class-validator';
import { workspace } from '../access';
import { ListOf, Optional } from '../fields';
import { operation } from '../operation';
import { Empty } from '../paging';
import { QueryString } from '../query-fields';
import { NewToken, TokenEntry, TokenId } from './tokens';

export class CreateIntegrationApiKey {
  /** Version id of an integration of the workspace. */
  @IsString() @Length(1, 200) integrationId!: string;

  @Optional() @IsString() @Length(0, 200) note?: string;
}

export class ListIntegrationApiKeys {
  @QueryString({ required: true }) integrationId!: string;
}

export class IntegrationApiKeys {
  @ListOf(TokenEntry) iaks!: TokenEntry[];
}

export const integrationApiKeys = {
  create: operation({
    subject: 'admin.integrationApiKeys.create',
    route: 'POST /v1/admin/integrations/iaks',
    summary: 'Creates an API key that acts as the integration. Its value is returned only once.',
    access: workspace.manage,
    input: CreateIntegrationApiKey,
    output: NewToken,
  }),
  list: operation({
    subject: 'admin.integrationApiKeys.list',
    route: 'GET /v1/admin/integrations/iaks',
    summary: 'Lists the API keys of an integration.',
    access: workspace.manage,
    input: ListIntegrationApiKeys,
    output: IntegrationApiKeys,
  }),
  delete: operation({
    subject: 'admin.integrationApiKeys.delete',
    route: 'DELETE /v1/admin/integrations/iaks/{id}',
    summary: 'Revokes an API key of an integration.',
    access: workspace.manage,
    input: TokenId,
    output: Empty,
  }),
};
