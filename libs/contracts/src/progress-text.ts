/** Field `indexing` of a file, for clients that import no contract. */
export interface ShownProgress {
  stage: string;
  percentage: number;
  secondsLeft?: number;
  placeInLine?: number;
}

const words: Record<string, string> = {
  taken: 'reading',
  parsed: 'cutting into passages',
  embedding: 'embedding and writing',
  written: 'all written',
  switching: 'becoming searchable',
};

/** Progress of the indexing of a file, for people: "reading, 12 %, about 40 s of reading left". */
export function progressText({ stage, percentage, secondsLeft, placeInLine }: ShownProgress): string {
  if (stage === 'announced') return placeInLine === undefined ? 'waiting' : `waiting, place ${placeInLine} in line`;
  const share = `${words[stage] ?? stage}, ${percentage} %`;
  if (secondsLeft === undefined) return share;
  return `${share}, about ${durationText(secondsLeft)} ${stage === 'taken' ? 'of reading left' : 'left'}`;
}

function durationText(seconds: number): string {
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}
