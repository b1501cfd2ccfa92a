const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** Time in the zone of the reader, with the exact UTC time as title. */
export function Time({ at }: { at: string }) {
  const date = new Date(at);
  return (
    <time dateTime={at} title={date.toISOString()}>
      {format.format(date)}
    </time>
  );
}
