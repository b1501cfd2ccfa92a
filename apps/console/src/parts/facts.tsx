import { Table } from '@mantine/core';
import type { ReactNode } from 'react';

/** Names and values. */
export function Facts({ label, facts }: { label: string; facts: [name: string, value: ReactNode][] }) {
  return (
    <Table aria-label={label} variant="vertical" layout="fixed">
      <Table.Tbody>
        {facts.map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Th w={160}>{name}</Table.Th>
            <Table.Td style={{ overflowWrap: 'anywhere' }}>{value}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
