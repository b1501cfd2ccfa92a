import { Box, Group, Text, Tooltip, VisuallyHidden } from '@mantine/core';

export interface Day {
  date: string;
  value: number;
}

const heightPx = 140;
const leastPercent = 1;
const dayFormat = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });
const numberFormat = new Intl.NumberFormat();

/** Bars by day (UTC), with the values as a list for screen readers. */
export function DayChart({ label, days }: { label: string; days: Day[] }) {
  const most = Math.max(1, ...days.map(({ value }) => value));
  const text = ({ date, value }: Day) => `${dayFormat.format(new Date(date))}: ${numberFormat.format(value)}`;
  return (
    <Box>
      <Group h={heightPx} gap={4} align="flex-end" wrap="nowrap" aria-hidden>
        {days.map((day) => (
          <Tooltip key={day.date} label={text(day)}>
            <Group h="100%" flex={1} align="flex-end">
              <Box
                w="100%"
                h={`${Math.max(leastPercent, (day.value / most) * 100)}%`}
                bg={day.value > 0 ? 'var(--mantine-primary-color-filled)' : 'var(--mantine-color-default-border)'}
                bdrs="sm"
              />
            </Group>
          </Tooltip>
        ))}
      </Group>
      {days.length > 0 && (
        <Group justify="space-between" mt={4} aria-hidden>
          <Text size="xs">{dayFormat.format(new Date(days[0]!.date))}</Text>
          <Text size="xs">{dayFormat.format(new Date(days.at(-1)!.date))}</Text>
        </Group>
      )}
      <VisuallyHidden>
        <ul aria-label={label}>
          {days.map((day) => (
            <li key={day.date}>{text(day)}</li>
          ))}
        </ul>
      </VisuallyHidden>
    </Box>
  );
}
