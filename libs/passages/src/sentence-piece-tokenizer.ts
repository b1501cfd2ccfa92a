export interface TokenizerModel {
  /** Replacements of the normaliser, in Base64: the size of a double-array trie, the trie, and texts that end in zero. */
  charsmap: string;
  /** Text and score of each piece, in the order of ids. A piece without a score is not looked for. */
  pieces: [text: string, score: number | null][];
}

const [unknownId, beginId, endId] = [0, 1, 2];
/** Distance of an unknown character's score to the lowest score of a piece. */
const unknownPenalty = 10;

/**
 * SentencePiece unigram tokenizer: normalises a text, then finds the sequence of pieces with the highest sum of scores.
 * Its ids are those of the SentencePiece library. Takes time and memory proportional to the length of the text.
 */
export class SentencePieceTokenizer {
  private readonly normalizer: Normalizer;
  private readonly pieces = new PieceTrie();
  private readonly scores: Float32Array;
  private readonly unknownScore: number;

  constructor({ charsmap, pieces }: TokenizerModel) {
    this.normalizer = new Normalizer(Buffer.from(charsmap, 'base64'));
    this.scores = Float32Array.from(pieces, ([, score]) => score ?? Infinity);
    this.unknownScore = this.scores.reduce((lowest, score) => Math.min(lowest, score)) - unknownPenalty;
    for (const [id, [text, score]] of pieces.entries()) if (score !== null) this.pieces.add(text, id);
  }

  /** Ids of the pieces, between those of begin and end. Lone surrogates count as U+FFFD. */
  encode(text: string): number[] {
    const normalized = this.normalizer.normalize(text);
    const { length } = normalized;
    // Best path from the start to each position: its score, and the beginning and id of its last piece.
    const scores = new Float32Array(length + 1).fill(-Infinity, 1);
    const beginnings = new Int32Array(length + 1);
    const ids = new Int32Array(length + 1);
    const offer = (beginning: number, end: number, id: number, pieceScore: number) => {
      const score = Math.fround(scores[beginning]! + pieceScore);
      if (score <= scores[end]!) return;
      scores[end] = score;
      beginnings[end] = beginning;
      ids[end] = id;
    };
    for (let position = 0, next = 0; position < length; position = next) {
      next = position + characterLength(normalized, position);
      let isKnown = false;
      let end = position;
      for (let node = 0; end < length && (node = this.pieces.child(node, normalized.charCodeAt(end))) > 0;) {
        end++;
        const id = this.pieces.idAt(node);
        if (id < 0) continue;
        offer(position, end, id, this.scores[id]!);
        isKnown ||= end === next;
      }
      if (!isKnown) offer(position, next, unknownId, this.unknownScore);
    }

    const path = [endId];
    for (let end = length; end > 0; end = beginnings[end]!) {
      // Unknown characters in a row are one token.
      if (ids[end] !== unknownId || path.at(-1) !== unknownId) path.push(ids[end]!);
    }
    return [...path, beginId].reverse();
  }
}

function characterLength(text: string, position: number): 1 | 2 {
  return (text.charCodeAt(position) & 0xfc00) === 0xd800 ? 2 : 1;
}

/** Trie of UTF-16 units, with its edges in a hash table of typed arrays: 7 MB for 250,000 nodes. */
class PieceTrie {
  private readonly slots = new Int32Array(2 ** 20);
  private readonly parents = new Int32Array(2 ** 18);
  private readonly units = new Uint16Array(2 ** 18);
  private readonly ids = new Int32Array(2 ** 18).fill(-1);
  private size = 1;

  add(text: string, id: number): void {
    let node = 0;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      const slot = this.slotOf(node, unit);
      if (this.slots[slot] === 0) {
        if (this.size === this.parents.length) throw new RangeError('The vocabulary has too many pieces.');
        this.parents[this.size] = node;
        this.units[this.size] = unit;
        this.slots[slot] = this.size++;
      }
      node = this.slots[slot]!;
    }
    this.ids[node] = id;
  }

  /** Node that `unit` leads to, or 0. */
  child(node: number, unit: number): number {
    return this.slots[this.slotOf(node, unit)]!;
  }

  /** Id of the piece that ends at this node, or -1. */
  idAt(node: number): number {
    return this.ids[node]!;
  }

  private slotOf(node: number, unit: number): number {
    for (let slot = Math.imul(Math.imul(node, 0x9e3779b1) ^ unit, 0x85ebca6b) >>> 12; ; slot++) {
      slot &= this.slots.length - 1;
      const child = this.slots[slot]!;
      if (child === 0 || (this.parents[child] === node && this.units[child] === unit)) return slot;
    }
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const blank = 0x20;
/** UTF-8 of U+2581, which stands for a space. One is added before the text. */
const spaceSymbol = [0xe2, 0x96, 0x81];

/** Normaliser: replaces the longest known sequence at each position (NFKC and more), and joins spaces. */
class Normalizer {
  private readonly trie: Uint32Array;
  private readonly replacements: Uint8Array;

  constructor(charsmap: Buffer) {
    const size = charsmap.readUInt32LE(0);
    this.trie = Uint32Array.from({ length: size / 4 }, (_, i) => charsmap.readUInt32LE(4 + 4 * i));
    this.replacements = charsmap.subarray(4 + size);
  }

  normalize(text: string): string {
    const input = encoder.encode(text);
    let output = new Uint8Array(2 * input.length + 16);
    let length = 0;
    let isAfterSpace = true;
    const put = (byte: number) => {
      if (length === output.length) {
        const larger = new Uint8Array(2 * length);
        larger.set(output);
        output = larger;
      }
      output[length++] = byte;
    };
    /** A space is written with the byte after it, so that none is at the end. */
    const write = (byte: number) => {
      if (byte !== blank && isAfterSpace) for (const part of spaceSymbol) put(part);
      if (byte !== blank) put(byte);
      isAfterSpace = byte === blank;
    };

    for (let position = 0; position < input.length;) {
      // Double array: the unit of a node has the byte that leads to it, the place of its children, and whether a value is there.
      let replacement = -1;
      let matched = position;
      let children = childrenOf(this.trie[0]!, 0);
      for (let end = position; end < input.length;) {
        const node = children ^ input[end]!;
        const unit = this.trie[node] ?? 0;
        if ((unit & 0x800000ff) !== input[end++]) break;
        children = childrenOf(unit, node);
        if (!(unit & 0x100)) continue;
        replacement = this.trie[children]! & 0x7fffffff;
        matched = end;
      }
      if (replacement < 0) write(input[position++]!);
      else {
        for (; this.replacements[replacement] !== 0; replacement++) write(this.replacements[replacement]!);
        position = matched;
      }
    }
    return decoder.decode(output.subarray(0, length));
  }
}

function childrenOf(unit: number, node: number): number {
  return node ^ ((unit >>> 10) << ((unit & 0x200) >>> 6));
}
