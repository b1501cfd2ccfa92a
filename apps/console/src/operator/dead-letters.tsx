import { Group, Stack, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { ActionButton, ConfirmButton } from '../parts/change-buttons';
import { Empty } from '../parts/empty';
import { Loaded } from '../parts/loaded';
import { Rows } from '../parts/rows';
import { Time } from '../parts/time';
import { lettersKey, lettersQuery, maxListed, replayLetters } from './queries';

const columns = ['Time', 'Service', 'Consumer', 'Attempts', 'Reason', 'Actions'];

/** Events that a consumer gave up on, of all services. */
export function DeadLetters() {
  const query = useQuery(lettersQuery);
  return (
    <Loaded query={query}>
      {(letters) => {
        if (letters.length === 0)
          return <Empty title="No dead letters">Every event between the services was processed.</Empty>;
        const services = [...new Set(letters.map(({ service }) => service))];
        return (
          <Stack>
            <Group gap="xs">
              {services.map((service) => (
                <ConfirmButton
                  key={service}
                  label={`Replay all of ${service}`}
                  button={{ variant: 'default' }}
                  question={`Replay all dead letters of ${service}?`}
                  confirmLabel="Replay all"
                  changes={lettersKey}
                  run={() => replayLetters(service)}
                >
                  Their consumers get them once more. Those that fail again come back.
                </ConfirmButton>
              ))}
            </Group>
            <Text size="sm">At most the newest {maxListed} of each service are shown.</Text>
            <Rows label="Dead letters" columns={columns}>
              {letters.map(({ id, service, consumer, attempts, reason, createdAt }) => (
                <Table.Tr key={id}>
                  <Table.Td>
                    <Time at={createdAt} />
                  </Table.Td>
                  <Table.Td>{service}</Table.Td>
                  <Table.Td>{consumer}</Table.Td>
                  <Table.Td>{attempts}</Table.Td>
                  <Table.Td>{reason}</Table.Td>
                  <Table.Td>
                    <ActionButton
                      label="Replay"
                      aria-label={`Replay ${id}`}
                      changes={lettersKey}
                      run={() => replayLetters(service, id)}
                    />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Rows>
          </Stack>
        );
      }}
    </Loaded>
  );
}
