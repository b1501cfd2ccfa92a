import type { MigrationInterface, QueryRunner } from 'typeorm';

export class TagsOfConversations1700000005010 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Conversation of a message, which never changes; null for other kinds of objects.
      ALTER TABLE tag ADD conversation_id text COLLATE "C";
      UPDATE tag SET conversation_id = message.conversation_id FROM message
      WHERE kind = 'message' AND message.bot_id = tag.bot_id AND message.id = object_id;
      CREATE INDEX tag_of_conversation ON tag
        (bot_id, conversation_id, tag_key(name), tag_key(value), created_at, object_id) WHERE conversation_id IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE tag DROP conversation_id');
  }
}
