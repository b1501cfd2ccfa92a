import { Code, PasswordInput, Table, TextInput } from '@mantine/core';
import type { Bot } from '@botpress/client';
import { clientOf } from '../api/client';
import { useCan } from '../api/role';
import { ConfirmButton, FormButton } from '../parts/change-buttons';
import { Empty } from '../parts/empty';
import { textIn } from '../parts/form-text';
import { Rows } from '../parts/rows';
import { Section } from '../parts/section';
import { botKey, type BotParams } from './queries';

/** Names of the secrets. Nobody can read their values. */
export function Secrets({ params, bot }: { params: BotParams; bot: Bot }) {
  const canWrite = useCan(params.workspaceId, 'write');
  return (
    <Section title="Secrets" aside={canWrite && <SetSecret params={params} />}>
      {bot.secrets.length === 0 ? (
        <Empty title="No secrets">
          The code reads a secret <Code>API_KEY</Code> as <Code>process.env.SECRET_API_KEY</Code>.
        </Empty>
      ) : (
        <Rows label="Secrets" columns={['Name', ...(canWrite ? ['Actions'] : [])]}>
          {bot.secrets.map((name) => (
            <Table.Tr key={name}>
              <Table.Td>
                <Code>{name}</Code>
              </Table.Td>
              {canWrite && (
                <Table.Td>
                  <ConfirmButton
                    label="Delete"
                    aria-label={`Delete ${name}`}
                    question={`Delete the secret ${name}?`}
                    confirmLabel="Delete the secret"
                    changes={botKey(params)}
                    run={() => clientOf(params).updateBot({ id: params.botId, secrets: { [name]: null } })}
                  >
                    The code does not get it any more from its next start on.
                  </ConfirmButton>
                </Table.Td>
              )}
            </Table.Tr>
          ))}
        </Rows>
      )}
    </Section>
  );
}

function SetSecret({ params }: { params: BotParams }) {
  const set = (values: FormData) =>
    clientOf(params).updateBot({
      id: params.botId,
      secrets: { [textIn(values, 'name')]: textIn(values, 'value') },
    });
  return (
    <FormButton label="Set a secret" title="Set a secret" submitLabel="Set" changes={botKey(params)} submit={set}>
      <TextInput
        name="name"
        label="Name"
        description="Capital letters, digits and underscores. A secret of the same name is replaced."
        placeholder="API_KEY"
        pattern="[A-Z][A-Z0-9_]*"
        maxLength={200}
        autoComplete="off"
        data-autofocus
        required
      />
      <PasswordInput name="value" label="Value" autoComplete="off" required />
    </FormButton>
  );
}
