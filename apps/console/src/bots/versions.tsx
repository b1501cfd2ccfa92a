import { Code, Group, Table, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { clientOf } from '../api/client';
import { useCan } from '../api/role';
import { ConfirmButton, FormButton } from '../parts/change-buttons';
import { Empty } from '../parts/empty';
import { textIn } from '../parts/form-text';
import { Loaded } from '../parts/loaded';
import { Rows } from '../parts/rows';
import { Section } from '../parts/section';
import { Status } from '../parts/status';
import { botKey, type BotParams, versionsQuery } from './queries';

/** Versions of the code. Rolling back is deploying an earlier one. */
export function Versions({ params }: { params: BotParams }) {
  const query = useQuery(versionsQuery(params));
  const canWrite = useCan(params.workspaceId, 'write');
  const hasCode = (query.data?.versions.length ?? 0) > 0;
  return (
    <Section title="Versions" aside={canWrite && hasCode && <CreateVersion params={params} />}>
      <Loaded query={query}>
        {({ versions, deployedId }) =>
          versions.length === 0 ? (
            <Empty title="No versions">
              <Code>bp deploy</Code> uploads code.
            </Empty>
          ) : (
            <Rows label="Versions" columns={['Name', 'Description', 'Id', ...(canWrite ? ['Actions'] : [])]}>
              {versions.map(({ id, name, description }) => (
                <Table.Tr key={id}>
                  <Table.Td>
                    {name} {id === deployedId && <Status value="deployed" />}
                  </Table.Td>
                  <Table.Td>{description}</Table.Td>
                  <Table.Td>
                    <Code>{id}</Code>
                  </Table.Td>
                  {canWrite && (
                    <Table.Td>
                      <Group gap="xs">
                        <ConfirmButton
                          label="Deploy"
                          aria-label={`Deploy ${name}`}
                          button={{}}
                          question={`Deploy "${name}"?`}
                          confirmLabel="Deploy this version"
                          changes={botKey(params)}
                          run={() => clientOf(params).deployBotVersion({ id: params.botId, versionId: id })}
                        >
                          The bot runs this code from its next call on. The code that it runs now stays among the
                          versions.
                        </ConfirmButton>
                      </Group>
                    </Table.Td>
                  )}
                </Table.Tr>
              ))}
            </Rows>
          )
        }
      </Loaded>
    </Section>
  );
}

function CreateVersion({ params }: { params: BotParams }) {
  const create = (values: FormData) =>
    clientOf(params).createBotVersion({
      id: params.botId,
      name: textIn(values, 'name'),
      description: textIn(values, 'description') || undefined,
    });
  return (
    <FormButton
      label="Name the current code"
      title="Version of the current code"
      submitLabel="Create the version"
      changes={botKey(params)}
      submit={create}
    >
      <TextInput name="name" label="Name" maxLength={200} autoComplete="off" data-autofocus required />
      <Textarea name="description" label="Description" maxLength={2000} rows={2} />
    </FormButton>
  );
}
