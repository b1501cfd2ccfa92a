/**
 * Lint rule: the name of a test begins with a verb in the third person, as in "returns 404 for logs of another workspace".
 *
 * The name is read alone, in reports and searches: its subject is not in the `describe` around it. The rule has no grammar: it
 * refuses first words without the ending, a list of others that have it, and second words that make the first one a noun.
 */
const thirdPerson = /^[a-z]+(-[a-z]+)*s,?$/;
const notVerbs =
  /^(always|as|bots|chunks|clocks|contents|files|garbage|globals|has|is|its|keys|messages|settings|sometimes|tables|this|tokens|users|visitors|was|whose)$/;
const afterNouns = /^(are|can|cannot|do|have|is|may|must|of|was|were)$/;

export const testNames = {
  meta: {
    type: 'suggestion',
    schema: [],
    messages: {
      verb: 'Begin the name of a test with a verb in the third person ("returns …", "does not …"), not with "{{word}}": "{{name}}"',
    },
  },
  create(context) {
    return {
      CallExpression({ callee, arguments: [title] }) {
        if (!title || !isTest(callee)) return;
        const name = textOf(title);
        if (name === undefined) return;
        const [first, second = ''] = name.split(/\s+/);
        if (thirdPerson.test(first) && !notVerbs.test(first) && !afterNouns.test(second)) return;
        context.report({ node: title, messageId: 'verb', data: { word: first, name } });
      },
    };
  },
};

/** Whether a call of this expression declares tests: `it`, `it.each(rows)`, `(onLinux ? it : it.skip)`. */
function isTest(callee) {
  switch (callee.type) {
    case 'Identifier':
      return callee.name === 'it' || callee.name === 'test';
    case 'MemberExpression':
      return /^(each|skip)$/.test(callee.property.name) && isTest(callee.object);
    case 'CallExpression':
      return isTest(callee.callee);
    case 'TaggedTemplateExpression':
      return isTest(callee.tag);
    case 'ConditionalExpression':
      return isTest(callee.consequent);
    default:
      return false;
  }
}

/** Text of a name, undefined for an expression that is not a literal, such as the rows of `it.each`. */
function textOf(title) {
  if (title.type === 'Literal' && typeof title.value === 'string') return title.value;
  if (title.type === 'TemplateLiteral') return title.quasis.map(({ value }) => value.cooked).join('…');
  return undefined;
}
