"""The parts of every learner: base class, capabilities, supervision, settings, chains, simple steps."""
