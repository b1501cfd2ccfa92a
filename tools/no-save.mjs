/**
 * ESLint rule: no `save` and `remove` of TypeORM, which read the row first and cost five times the processor time of one
 * statement. Needs type information, since repositories of ours may have methods of these names.
 */
const methods = /^(save|remove|softRemove|recover)$/;
const types = /^(Repository|EntityManager|BaseEntity)$/;

export const noSave = {
  meta: {
    type: 'problem',
    schema: [],
    messages: { save: 'Use insert, update or delete instead of {{method}}, which reads the row first.' },
  },
  create(context) {
    const { parserServices } = context.sourceCode;
    return {
      'CallExpression > MemberExpression.callee'({ object, property }) {
        if (property.type !== 'Identifier' || !methods.test(property.name)) return;
        const symbol = parserServices.getTypeAtLocation(object).getSymbol();
        const file = symbol?.declarations?.[0]?.getSourceFile().fileName ?? '';
        if (!types.test(symbol?.name ?? '') || !file.includes('/node_modules/typeorm/')) return;
        context.report({ node: property, messageId: 'save', data: { method: property.name } });
      },
    };
  },
};
