import { waitFor } from '@parley/testing/wait-for';
import { Client } from 'pg';

/** Statement that a gate can block: sets a stage of a job or a status of a file, commits that, or writes vectors. */
export type Step =
  | 'parsed'
  | 'embedding'
  | 'vectors'
  | 'switching'
  | 'indexing_completed'
  | 'commit of indexing_completed';

/** Each statement takes an advisory lock named after its file and step, which only a test holds exclusively. */
const triggers = `
  CREATE SCHEMA faults;
  CREATE FUNCTION faults.pass(file_id text, step text) RETURNS void LANGUAGE sql AS
    $$ SELECT pg_advisory_xact_lock_shared(hashtextextended(file_id || ' ' || step, 0)) $$;

  CREATE FUNCTION faults.pass_job() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM faults.pass(NEW.file_id, NEW.stage); RETURN NEW; END $$;
  CREATE TRIGGER gate BEFORE UPDATE ON files.indexing_job FOR EACH ROW EXECUTE FUNCTION faults.pass_job();

  CREATE FUNCTION faults.pass_file() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM faults.pass(NEW.id, TG_ARGV[0] || NEW.status); RETURN NEW; END $$;
  CREATE TRIGGER gate BEFORE UPDATE OF status ON files.file FOR EACH ROW EXECUTE FUNCTION faults.pass_file('');
  CREATE FUNCTION faults.pass_vectors() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM faults.pass(NEW.file_id, 'vectors'); RETURN NEW; END $$;
  CREATE TRIGGER gate BEFORE INSERT ON files.local_index_point FOR EACH ROW EXECUTE FUNCTION faults.pass_vectors();
  CREATE CONSTRAINT TRIGGER gate_of_commit AFTER UPDATE ON files.file DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION faults.pass_file('commit of ');
`;

/** Blocks a statement of the platform in the database, for one file at one step. Needs no hook in the platform. */
export class Gate {
  private constructor(private readonly database: Client) {}

  static async install(databaseUrl: string): Promise<Gate> {
    const database = new Client({ connectionString: databaseUrl });
    await database.connect();
    await database.query(triggers);
    return new Gate(database);
  }

  async close(fileId: string, step: Step): Promise<void> {
    await this.database.query("SELECT pg_advisory_lock(hashtextextended($1 || ' ' || $2, 0))", [fileId, step]);
  }

  async reached(): Promise<void> {
    await waitFor(
      () => this.waiting(),
      (pids) => pids.length > 0,
    );
  }

  /** Aborts the waiting statement as if it had not been sent. The gate stays closed. */
  async turnAway(): Promise<void> {
    for (const pid of await this.waiting()) await this.database.query('SELECT pg_terminate_backend($1, 5000)', [pid]);
  }

  async open(): Promise<void> {
    await this.database.query('SELECT pg_advisory_unlock_all()');
  }

  async remove(): Promise<void> {
    await this.database.end();
  }

  private async waiting(): Promise<number[]> {
    const { rows } = await this.database.query<{ pid: number }>(
      'SELECT pid FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))',
    );
    return rows.map(({ pid }) => pid);
  }
}
