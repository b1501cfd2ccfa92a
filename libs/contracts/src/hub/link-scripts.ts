import { IsString } from 'class-validator';
import { service } from '../access';
import { InstallationLink } from '../admin/installation-links';
import { JsonObject, Nullable } from '../fields';
import { operation } from '../operation';

export class MakeLink {
  /** Version id. */
  @IsString() integrationId!: string;

  /** Null for the main configuration. */
  @Nullable() @IsString() configurationType!: string | null;

  /** Input of the script. */
  @JsonObject() data!: Record<string, unknown>;
}

export const linkScripts = {
  run: operation({
    subject: 'hub.linkScripts.run',
    summary: 'Runs the script of an integration that makes the link of an installation.',
    access: service,
    input: MakeLink,
    output: InstallationLink,
  }),
};
