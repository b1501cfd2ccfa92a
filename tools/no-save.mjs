/**
 * Lint rule: no `save` and `remove` of TypeORM, which read the row first and cost five times the processor time of one
 * statement. It goes by names: those of the methods, and of the object where services of ours have the same method.
 */
const always = /^(save|softRemove)$/;
const ofRepositories = /^(remove|recover)$/;
const repositories = /repository|manager/i;

export const noSave = {
  meta: {
    type: 'problem',
    schema: [],
    messages: { save: 'Use insert, update or delete instead of {{method}}, which reads the row first.' },
  },
  create(context) {
    return {
      'CallExpression > MemberExpression.callee'(node) {
        const method = node.property.name ?? '';
        const isRefused =
          always.test(method) ||
          (ofRepositories.test(method) && repositories.test(context.sourceCode.getText(node.object)));
        if (isRefused) context.report({ node: node.property, messageId: 'save', data: { method } });
      },
    };
  },
};
