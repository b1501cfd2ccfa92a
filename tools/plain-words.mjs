/**
 * Lint rule: comments and messages are plain technical English.
 *
 * Refuses sentences that use a free relative clause as a noun ("What is late is refused") or are fragments ("Of an event: …"),
 * and words that hide their meaning. Questions may begin with these words. CONTRIBUTING.md, "Words", has examples.
 */
const openings = /^(What|Whatever|Who|Whoever|Whose|Of)\b/;
const vague = /\b(wanted|told|meant|that is here|may be had)\b/i;
const fixtures = /\.spec\.ts$|\.behaviour\.ts$|\/test\//;

export const plainWords = {
  meta: {
    type: 'suggestion',
    schema: [],
    messages: {
      opening: 'Begin this sentence with a concrete subject or a verb, not with "{{word}}": "{{sentence}}"',
      vague: 'Name the thing instead of "{{word}}": "{{sentence}}"',
    },
  },
  create(context) {
    const { sourceCode } = context;

    function check(node, text) {
      for (const sentence of sentencesOf(text)) {
        const opening = openings.exec(sentence)?.[0];
        if (opening && !sentence.endsWith('?')) report(node, 'opening', opening, sentence);
        const word = vague.exec(sentence)?.[0];
        if (word) report(node, 'vague', word, sentence);
      }
    }

    function report(node, messageId, word, sentence) {
      context.report({ loc: node.loc, messageId, data: { word, sentence: sentence.slice(0, 80) } });
    }

    const isFixture = fixtures.test(context.filename);
    return {
      Program() {
        for (const comment of commentsOf(sourceCode)) check(comment, comment.text);
      },
      Literal(node) {
        if (!isFixture && typeof node.value === 'string') check(node, node.value);
      },
      TemplateLiteral(node) {
        if (!isFixture) check(node, node.quasis.map(({ value }) => value.cooked ?? '').join('x'));
      },
    };
  },
};

/** Comments as they read: lines that follow each other are one text. */
function commentsOf(sourceCode) {
  const texts = [];
  for (const { type, value, loc } of sourceCode.getAllComments()) {
    const last = texts.at(-1);
    const text = value.replace(/^\s*\*+ ?/gm, '').trim();
    if (type === 'Line' && last?.type === 'Line' && last.loc.end.line === loc.start.line - 1) {
      last.text += ` ${text}`;
      last.loc = { start: last.loc.start, end: loc.end };
    } else {
      texts.push({ type, text, loc });
    }
  }
  return texts;
}

/** Sentences with at least three words. */
function sentencesOf(text) {
  return text
    .split(/\n\s*\n|(?<=[.!?:;])\s+|\n(?=\s*- )/)
    .map((sentence) =>
      sentence
        .replace(/^[\s-]+/, '')
        .replace(/\s+/g, ' ')
        .trim(),
    )
    .filter((sentence) => sentence.split(' ').length >= 3);
}
