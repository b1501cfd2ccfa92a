import { Code, Group, Image, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Empty } from '../parts/empty';
import { Json } from '../parts/json';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { PageLink } from '../parts/page-link';
import { Rows } from '../parts/rows';
import { Status } from '../parts/status';
import { Time } from '../parts/time';
import { kinds, type Publication, publicationQuery, type Shelf, versionsQuery } from './queries';
import { readmeOf } from './readme';

export function PublicationPage() {
  const params = useParams({ from: '/w/$workspaceId/hub/$kind/$source/$id' });
  const shelf: Shelf = {
    workspaceId: params.workspaceId,
    kind: kinds.find((known) => known === params.kind) ?? 'integrations',
    source: params.source === 'workspace' ? 'workspace' : 'public',
  };
  const query = useQuery(publicationQuery(shelf, params.id));
  return (
    <Page title={query.data?.title || query.data?.name || 'Hub'}>
      <Loaded query={query}>
        {(publication) => (
          <>
            <Facts publication={publication} />
            <Readme url={publication.readmeUrl} />
            <Configuration publication={publication} />
            <Definitions title="Actions" entries={publication.actions} />
            <Definitions title="Events" entries={publication.events} />
            <Definitions title="Channels" entries={publication.channels} />
            <Definitions title="Entities" entries={publication.entities} />
            <Versions shelf={shelf} publication={publication} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Stack gap="xs" component="section">
      <Title order={2} size="h4">
        {title}
      </Title>
      {children}
    </Stack>
  );
}

function Facts({ publication }: { publication: Publication }) {
  const { id, name, version, description, iconUrl, meta, createdAt, updatedAt } = publication;
  const needed = [
    ...Object.values(publication.interfaces ?? {}),
    ...Object.values(publication.dependencies?.interfaces ?? {}),
    ...Object.values(publication.dependencies?.integrations ?? {}),
  ];
  const rows: [string, ReactNode][] = [
    ['Name', `${name} ${version}`],
    ['Id', <Code key="id">{id}</Code>],
    ['Published by', publication.ownerWorkspace?.name],
    ['Visibility', publication.visibility],
    ['Verification', publication.verificationStatus && <Status value={publication.verificationStatus} />],
    ['Life cycle', publication.lifecycleStatus],
    ['Bots that use it', meta?.installs],
    ['Uses or implements', needed.map((one) => `${one.name} ${one.version}`).join(', ')],
    ['Created', <Time key="created" at={createdAt} />],
    ['Changed', <Time key="changed" at={updatedAt} />],
  ];
  return (
    <Stack gap="sm">
      <Group wrap="nowrap">
        {iconUrl && <Image src={iconUrl} alt="" w={48} h={48} fit="contain" />}
        <Text>{description}</Text>
      </Group>
      <Table aria-label="Facts" variant="vertical" layout="fixed">
        <Table.Tbody>
          {rows
            .filter(([, value]) => value !== undefined && value !== '')
            .map(([label, value]) => (
              <Table.Tr key={label}>
                <Table.Th w={160}>{label}</Table.Th>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>{value}</Table.Td>
              </Table.Tr>
            ))}
        </Table.Tbody>
      </Table>
    </Stack>
  );
}

/** Markdown as text: the author is somebody else, so nothing in it is rendered. */
function Readme({ url }: { url?: string }) {
  const text = readmeOf(url);
  if (text === undefined) return null;
  return (
    <Section title="Readme">
      <Code block tabIndex={0} role="region" aria-label="Readme" mah={480} style={{ whiteSpace: 'pre-wrap' }}>
        {text}
      </Code>
    </Section>
  );
}

function Configuration({ publication: { configuration, configurations = {} } }: { publication: Publication }) {
  const others = Object.entries(configurations);
  if (!configuration?.schema && others.length === 0) return null;
  return (
    <Section title="Configuration">
      {configuration?.schema && <Json label="Schema of the configuration" value={configuration.schema} />}
      {others.map(([name, { title, description, schema }]) => (
        <Stack key={name} gap="xs">
          <Text size="sm" fw={500}>
            {title || name}
          </Text>
          <Text size="sm">{description}</Text>
          {schema && <Json label={`Schema of the configuration ${name}`} value={schema} />}
        </Stack>
      ))}
    </Section>
  );
}

function Definitions({ title, entries = {} }: { title: string; entries?: Publication['actions'] }) {
  const known = Object.entries(entries);
  if (known.length === 0) return null;
  return (
    <Section title={title}>
      <Rows label={title} columns={['Name', 'Title', 'Description']}>
        {known.map(([name, { title: label, description }]) => (
          <Table.Tr key={name}>
            <Table.Td>
              <Code>{name}</Code>
            </Table.Td>
            <Table.Td>{label}</Table.Td>
            <Table.Td>{description}</Table.Td>
          </Table.Tr>
        ))}
      </Rows>
    </Section>
  );
}

function Versions({ shelf, publication: { id: shownId, name } }: { shelf: Shelf; publication: Publication }) {
  const query = useQuery(versionsQuery(shelf, name));
  return (
    <Section title="Versions">
      <Loaded query={query}>
        {(versions) =>
          versions.length === 0 ? (
            <Empty title="No listed versions">This version is unlisted: only its id leads to it.</Empty>
          ) : (
            <Rows label="Versions" columns={['Version', 'Created', 'Changed']}>
              {versions.map(({ id, version, createdAt, updatedAt }) => (
                <Table.Tr key={id}>
                  <Table.Td>
                    {id === shownId ? (
                      `${version} (shown)`
                    ) : (
                      <PageLink to="/w/$workspaceId/hub/$kind/$source/$id" params={{ ...shelf, id }}>
                        {version}
                      </PageLink>
                    )}
                  </Table.Td>
                  <Table.Td>
                    <Time at={createdAt} />
                  </Table.Td>
                  <Table.Td>
                    <Time at={updatedAt} />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Rows>
          )
        }
      </Loaded>
    </Section>
  );
}
