import { Badge, Group } from '@mantine/core';

export function Tags({ tags }: { tags: Record<string, string> }) {
  const entries = Object.entries(tags);
  if (entries.length === 0) return null;
  return (
    <Group gap={4} mt={4}>
      {entries.map(([name, value]) => (
        <Badge key={name} variant="default" tt="none">
          {name}: {value}
        </Badge>
      ))}
    </Group>
  );
}
