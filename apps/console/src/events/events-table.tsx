import { Button, Table } from '@mantine/core';
import type { Event } from '@botpress/client';
import { useState } from 'react';
import { Detail } from '../parts/detail';
import { Rows } from '../parts/rows';
import { Status } from '../parts/status';
import { Time } from '../parts/time';
import { EventDetail } from './event-detail';

export function EventsTable({ events }: { events: Event[] }) {
  const [shown, setShown] = useState<Event>();
  return (
    <>
      <Rows label="Events" columns={['Time', 'Type', 'Status', 'Reason', 'Detail']}>
        {events.map((event) => (
          <Table.Tr key={event.id}>
            <Table.Td>
              <Time at={event.createdAt} />
            </Table.Td>
            <Table.Td>{event.type}</Table.Td>
            <Table.Td>
              <Status value={event.status} />
            </Table.Td>
            <Table.Td>{event.failureReason}</Table.Td>
            <Table.Td>
              <Button size="compact-sm" variant="default" onClick={() => setShown(event)}>
                Show
              </Button>
            </Table.Td>
          </Table.Tr>
        ))}
      </Rows>
      <Detail title={shown?.type} onClose={() => setShown(undefined)}>
        {shown && <EventDetail id={shown.id} />}
      </Detail>
    </>
  );
}
